"""Model clients, a random world and a walker for the protocol core: no socket, no sleep, virtual time."""
