"""Where corpora and released models are had: a catalogue, downloads that are verified, checks of what is here."""
