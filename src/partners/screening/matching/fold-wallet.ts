/**
 * The form in which addresses are compared, on whichever chain: an EVM address may be written in
 * any case, the others mean another address in another case.
 */
export function foldWallet(address: string): string {
  const text = address.trim();
  return /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : text;
}
