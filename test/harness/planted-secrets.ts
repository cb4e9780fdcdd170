import type { LogDestination } from "../../src/platform/http/server.ts";
import { ACCOUNTS, HOLDER } from "./ramp.ts";

/**
 * Personal data of the payees that most tests create. Whatever the suite logs, and whatever the
 * commands print that it runs, is searched for it, so every test that uses them also checks that
 * none of it is there.
 */
export const PLANTED_PERSONAL_DATA: readonly string[] = [
  ...[HOLDER.account_name, HOLDER.address_line1, HOLDER.postal_code, HOLDER.date_of_birth],
  "1988-04-21",
  ...Object.values(ACCOUNTS).flatMap((account) =>
    ["iban", "account_number", "rib_number"].flatMap((field) => {
      const value = (account as Record<string, string>)[field];
      // A short number stands in ids and times by chance.
      return value && value.length > 8 ? [value] : [];
    }),
  ),
];

/** Text that must not stand in any log line or output, and the lines in which it was seen. */
export class SecretWatch {
  readonly #secrets: Set<string>;
  readonly #leaks: string[] = [];
  readonly #where: string;

  constructor(where = "the log", planted = PLANTED_PERSONAL_DATA) {
    this.#where = where;
    this.#secrets = new Set(planted);
  }

  /** Keys, passwords and the like of one server. */
  add(...secrets: readonly string[]): void {
    for (const secret of secrets) this.#secrets.add(secret);
  }

  /** Passes every line on to the destination, if there is one. */
  watch(destination: LogDestination | undefined): LogDestination {
    return {
      write: (line) => {
        this.check(line);
        return destination?.write(line);
      },
    };
  }

  check(text: string): void {
    for (const secret of this.#secrets) {
      if (text.includes(secret)) this.#leaks.push(`${secret} in: ${text.slice(0, 1_000)}`);
    }
  }

  /** Throws if a secret was seen. */
  assertNone(): void {
    if (this.#leaks.length === 0) return;
    throw new Error(`${this.#where} has ${this.#leaks.length} secrets, first ${this.#leaks[0]}`);
  }
}
