import { createHash } from "node:crypto";

const START = "RC";

/** The end-to-end id of a deposit that is sent back: no payout begins so. */
export function returnId(key: string): string {
  const digest = createHash("sha256").update("return").update(key).digest("hex");
  return `${START}${digest.slice(0, 32)}`;
}

export function isReturnId(end_to_end_id: string): boolean {
  return end_to_end_id.startsWith(START);
}
