import { session } from "./session.ts";

/** How far the service's time is ahead of this browser's; the sandbox's clock can be moved. */
let ahead_ms = Date.parse(session.now) - Date.now();

/** The time of the service, by which deadlines and ages count. */
export function serviceNow(): number {
  return Date.now() + ahead_ms;
}

/** The service said what time it is. */
export function setServiceNow(now: string): void {
  ahead_ms = Date.parse(now) - Date.now();
}
