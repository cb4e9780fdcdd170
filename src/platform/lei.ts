const FORM = /^[A-Z0-9]{18}\d{2}$/;

/** Whether this is a legal entity identifier (ISO 17442): its check digits are right. */
export function isLei(text: string): boolean {
  if (!FORM.test(text)) return false;
  const digits = [...text].map((letter) => Number.parseInt(letter, 36)).join("");
  return BigInt(digits) % 97n === 1n;
}
