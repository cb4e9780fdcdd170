import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { findErasures } from "./webhook-store.ts";

/**
 * How many people were erased so far: what was opened under an older count must not be sent. The
 * keys that this process still has in memory go as soon as a higher count is seen.
 */
export class Erasures {
  readonly #database: Session;
  readonly #keyring: Pick<Keyring, "forgetSubjects">;
  #seen: bigint | null = null;

  constructor(deps: { database: Session; keyring: Pick<Keyring, "forgetSubjects"> }) {
    this.#database = deps.database;
    this.#keyring = deps.keyring;
  }

  async count(): Promise<bigint> {
    const erasures = await findErasures(this.#database);
    if (this.#seen !== erasures) this.#keyring.forgetSubjects();
    this.#seen = erasures;
    return erasures;
  }
}
