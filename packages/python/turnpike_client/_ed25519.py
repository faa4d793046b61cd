"""Verification of ed25519 signatures (RFC 8032, section 5.1.7): Python's standard library has none.

It handles public values only, so its time may depend on them."""

from __future__ import annotations

import hashlib
from typing import Optional, Tuple

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)

#: X, Y, Z and T of extended homogeneous coordinates.
_Point = Tuple[int, int, int, int]


def _add(one: _Point, other: _Point) -> _Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c = 2 * one[3] * other[3] * _D % _P
    d = 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(factor: int, point: _Point) -> _Point:
    product: _Point = (0, 1, 1, 0)
    while factor > 0:
        if factor & 1:
            product = _add(product, point)
        point = _add(point, point)
        factor >>= 1
    return product


def _is_equal(one: _Point, other: _Point) -> bool:
    return (one[0] * other[2] - other[0] * one[2]) % _P == 0 and (one[1] * other[2] - other[1] * one[2]) % _P == 0


def _recover_x(y: int, sign: int) -> Optional[int]:
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P != 0:
        x = x * _ROOT % _P
    if (x * x - square) % _P != 0 or (x == 0 and sign == 1):
        return None
    return _P - x if x & 1 != sign else x


def _decompress(encoded: bytes) -> Optional[_Point]:
    number = int.from_bytes(encoded, "little")
    y, sign = number & (2**255 - 1), number >> 255
    x = _recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % _P)


_BASE_Y = 4 * pow(5, _P - 2, _P) % _P
_BASE_X = _recover_x(_BASE_Y, 0) or 0
_BASE: _Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)


def verify(public_key: bytes, signature: bytes, message: bytes) -> bool:
    if len(public_key) != 32 or len(signature) != 64:
        return False
    point, commitment = _decompress(public_key), _decompress(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if point is None or commitment is None or scalar >= _ORDER:
        return False
    # A key of small order would verify signatures that its owner never made.
    if _is_equal(_multiply(8, point), (0, 1, 1, 0)):
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _ORDER
    return _is_equal(_multiply(scalar, _BASE), _add(commitment, _multiply(challenge, point)))
