"""Other people's programs beside ours: the same world, network and sizes, by turns on one core."""
