"""The paper as data: which runs a figure needs, how they are made, and which claims they bear out."""
