"""One HTML file that shows a folder of runs: it opens offline, and asks nothing of any server."""
