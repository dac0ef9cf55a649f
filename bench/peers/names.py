"""Lists of names on the command lines of these scripts: --models t5,bert."""

import argparse


def names(known):
    """The type of an option whose value is some of the known names, with commas between them."""

    def read(text):
        unknown = [name for name in text.split(",") if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(known)}")
        return text.split(",")

    return read
