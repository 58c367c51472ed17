"""Addresses → bits, with contents made up where nothing was stored."""

from __future__ import annotations

WORD = 4
POINTER_STRIDE = 1 << 40
VARIABLE_STRIDE = 1 << 24
SHARED_WINDOW = 1 << 60
LOCAL_WINDOW = 1 << 61
GLOBAL_VARIABLES = 1 << 59


class Memory:
    """Words of four bytes, little-endian; unwritten words hold a number between one half and one as float32.

    Attributes:
        zeroed_from: words at and above this address start as zero (module variables).
    """

    def __init__(self, zeroed_from: int | None = None) -> None:
        self._words: dict[int, int] = {}
        self._zeroed_from = zeroed_from

    def load(self, address: int, size: int) -> int:
        """The `size` bytes at an address as an unsigned number."""
        if size == WORD and not address % WORD:
            return self._word(address // WORD)
        value = 0
        for place in range(size):
            word, byte = divmod(address + place, WORD)
            value |= (self._word(word) >> 8 * byte & 255) << 8 * place
        return value

    def store(self, address: int, size: int, value: int) -> None:
        """Writes the low `size` bytes of a number."""
        if size == WORD and not address % WORD:
            self._words[address // WORD] = value & 0xFFFFFFFF
            return
        for place in range(size):
            word, byte = divmod(address + place, WORD)
            kept = self._word(word) & ~(255 << 8 * byte)
            self._words[word] = kept | (value >> 8 * place & 255) << 8 * byte

    def _word(self, index: int) -> int:
        found = self._words.get(index)
        if found is not None:
            return found
        if self._zeroed_from is not None and index * WORD >= self._zeroed_from:
            return 0
        return 0x3F000000 | index * 2654435761 % (1 << 23)
