/** Checksum of a row's figures, stored beside them: detects changes made past the shop. Equal in SQL and here. */
const modulus = 4_294_967_291n
const weights = [3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n]

export function checksumOf(figures: readonly (bigint | number)[]): bigint {
  return figures.reduce<bigint>((sum, figure, at) => sum + (BigInt(figure) % modulus) * weightAt(at), 0n) % modulus
}

/** The same in SQL; no figure is large enough to overflow. */
export const checksumIn = (figures: readonly string[]): string =>
  `(${figures.map((figure, at) => `((${figure}) % ${modulus}) * ${weightAt(at)}`).join(' + ')}) % ${modulus}`

function weightAt(at: number): bigint {
  const weight = weights[at]
  if (weight === undefined) throw new RangeError('a row has more figures than a checksum has weights')
  return weight
}
