"""``python -m mutiny``."""

from mutiny.cli import main

if __name__ == "__main__":
    main()
