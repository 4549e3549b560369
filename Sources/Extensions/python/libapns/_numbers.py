"""What the enumerations of _constants.py have besides their numbers."""

from __future__ import annotations

import enum


class Word(enum.IntEnum):
    """A number whose str() and format() are words."""

    @property
    def text(self) -> str:
        return self.name.lower().replace("_", " ")

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return format(int(self) if spec[-1:] in set("bcdoxXneEfFgG%") else str(self), spec)


class RejectNumber(Word):
    @classmethod
    def _missing_(cls, value: object) -> RejectNumber | None:
        if not isinstance(value, int) or not 0 <= value <= 255:
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNLISTED_{value}"
        member._value_ = value
        return member

    @property
    def text(self) -> str:
        """The status in words, such as "invalid token"."""
        from ._core import reject_text

        return reject_text(self.value)


class CauseNumber(enum.IntEnum):
    @classmethod
    def _missing_(cls, value: object) -> CauseNumber | None:
        if not isinstance(value, int) or value < 0:
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNLISTED_{value}"
        member._value_ = value
        return member


class ReasonNumber(Word):
    @property
    def text(self) -> str:
        """The reason as APNs writes it, such as "BadDeviceToken"."""
        from ._core import reason_text

        return reason_text(self.value)

    @property
    def http_status(self) -> int:
        """The HTTP status that APNs returns with this reason, such as 400; 0 without a status."""
        from ._core import reason_http_status

        return reason_http_status(self.value)


class PushTypeNumber(Word):
    @property
    def text(self) -> str:
        """The type as APNs reads it, such as "alert"."""
        from ._core import push_type_text

        return push_type_text(self.value)
