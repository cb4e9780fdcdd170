import { createHash } from "node:crypto";

/** 15 digits, like an ACH trace number; invented by the sandbox, so it identifies no real bank. */
export function traceNumber(end_to_end_id: string): string {
  const digits = BigInt(`0x${digest(end_to_end_id).toString("hex").slice(0, 15)}`);
  return `9${String(digits).padStart(14, "0").slice(-14)}`;
}

/** A UUID with the form of version 4, always the same for the same payment. */
export function uetrOf(end_to_end_id: string): string {
  const hex = digest(end_to_end_id).toString("hex");
  const variant = "89ab"[Number.parseInt(hex[16]!, 16) % 4];
  return (
    `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-` +
    `${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  );
}

function digest(text: string): Buffer {
  return createHash("sha256").update("sandbox proof").update(text).digest();
}
