"""What a sweep with a thousand workers does to its head and to the file system, with workers that only sleep."""
