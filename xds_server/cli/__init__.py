"""The command line: arguments in, text out. Each command's machinery is imported only when it is asked for."""
