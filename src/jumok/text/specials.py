"""The tokens that every vocabulary of jumok begins with: four that write nothing, and one for each byte."""

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
BOS, PAD, EOS, UNK = range(4)
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
FIRST_BYTE = len(SPECIALS)  # the id of byte 0; the other 255 follow
FIRST = FIRST_BYTE + len(BYTES)  # the first id that is learned
