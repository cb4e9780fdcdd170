/** An invented German account number with its check digits. */
export function ibanAt(n: number): string {
  const account = `50010517${String(n).padStart(10, "0")}`;
  // DE00 at the end, in digits.
  const check = 98n - (BigInt(`${account}131400`) % 97n);
  return `DE${String(check).padStart(2, "0")}${account}`;
}
