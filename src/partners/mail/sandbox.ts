import type { Clock } from "../../platform/clock.ts";
import type { Database, Session } from "../../platform/db/database.ts";
import { keyedHash, open, type Place, seal } from "../../platform/encryption/cipher.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import type { Mail, MailPort } from "./port.ts";
import { listOutbox, upsertOutbox } from "./sandbox-store.ts";

export type OutboxMail = Pick<Mail, "id" | "to" | "subject" | "text"> & {
  sent_at: Date;
  expires_at: Date;
};

type Content = Pick<Mail, "to" | "subject" | "text">;

const KEY_VERSION = 1;
const SHOWN_MAX = 100;

/** Mail of the sandbox: kept in a table, for the outbox page, until it expires. */
export function createSandboxMail(deps: {
  database: Database;
  index_key: Buffer;
  clock: Clock;
}): MailPort {
  const { database, index_key, clock } = deps;
  return {
    send: async ({ id, to, subject, text, expires_at }) => {
      const plaintext = Buffer.from(JSON.stringify({ to, subject, text } satisfies Content));
      const content = seal(keyOf(index_key), KEY_VERSION, placeOf(id), plaintext);
      await upsertOutbox(database, { id, content, sent_at: realTime(clock), expires_at });
    },
  };
}

/** The newest first. */
export async function readOutbox(
  session: Session,
  index_key: Buffer,
  now: Date,
): Promise<OutboxMail[]> {
  const rows = await listOutbox(session, now, SHOWN_MAX);
  return rows.map(({ id, content, sent_at, expires_at }) => {
    const opened = open(keyOf(index_key), placeOf(id), content).toString();
    return { id, ...(JSON.parse(opened) as Content), sent_at, expires_at };
  });
}

function keyOf(index_key: Buffer): Buffer {
  return keyedHash(index_key, "outbox key");
}

function placeOf(id: string): Place {
  return {
    account_id: "installation",
    table: "sandbox_outbox",
    column: "content",
    record_id: id,
  };
}
