"""`tidegate demo`: the whole of Tidegate on one machine, with real Envoys and requests running all the time."""
