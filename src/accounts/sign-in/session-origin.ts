import { openPersonal, sealPersonal } from "../seal-personal.ts";

/** Where a session was started, so that its owner recognizes it. */
export type SessionOrigin = { device: string; network: string };

const BROWSERS = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
] as const;
const SYSTEMS = [
  [/\b(iPhone|iPad)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
] as const;

/** The browser and the system, as far as the browser names them: never the text it sent. */
export function deviceOf(user_agent: string | undefined): string {
  const text = user_agent ?? "";
  const browser = BROWSERS.find(([form]) => form.test(text))?.[1] ?? "Unknown browser";
  const system = SYSTEMS.find(([form]) => form.test(text))?.[1];
  return system ? `${browser} on ${system}` : browser;
}

export function sealOrigin(index_key: Buffer, id: string, origin: SessionOrigin): Buffer {
  return sealPersonal(index_key, placeOf(id), JSON.stringify(origin));
}

export function openOrigin(index_key: Buffer, id: string, sealed: Buffer | null): SessionOrigin {
  if (!sealed) return { device: "Unknown browser", network: "" };
  return JSON.parse(openPersonal(index_key, placeOf(id), sealed));
}

function placeOf(id: string) {
  return { table: "sessions", column: "origin", record_id: id };
}
