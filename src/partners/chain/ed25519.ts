/** The field and the curve of Ed25519 (RFC 8032). */
const P = 2n ** 255n - 19n;
const D = modulo(-121665n * power(121666n, P - 2n));

/**
 * Whether 32 bytes are the encoding of a point, as every key of a wallet is: about half of all
 * numbers are not, so that this notices half of the typing errors. No secrets are computed with.
 */
export function isOnCurve(bytes: Buffer): boolean {
  const encoded = BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
  const sign = encoded >> 255n;
  const y = encoded & (2n ** 255n - 1n);
  if (y >= P) return false;
  const y2 = modulo(y * y);
  // x² = (y² − 1) / (d·y² + 1)
  const x2 = modulo((y2 - 1n) * power(modulo(D * y2 + 1n), P - 2n));
  if (x2 === 0n) return sign === 0n;
  return power(x2, (P - 1n) / 2n) === 1n;
}

function modulo(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, square, left] = [1n, modulo(base), exponent];
  while (left > 0n) {
    if (left & 1n) result = modulo(result * square);
    square = modulo(square * square);
    left >>= 1n;
  }
  return result;
}
