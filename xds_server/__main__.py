"""`python -m xds_server` is the command `tidegate`."""

from __future__ import annotations

from xds_server.cli.main import main

if __name__ == "__main__":
    main()
