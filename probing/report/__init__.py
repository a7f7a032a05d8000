"""Result rows as figures, tables and a page to read; nothing is measured here."""
