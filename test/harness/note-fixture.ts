import { findActiveKeys } from "../../src/accounts/api-key-store.ts";
import { revokeApiKey } from "../../src/accounts/revoke-api-key.ts";
import type { Core } from "../../src/app/open-app.ts";
import { createExecutor } from "../../src/platform/commands/executor.ts";
import type { Idempotency, UseCase } from "../../src/platform/commands/use-case.ts";
import { Refusal } from "../../src/platform/errors.ts";
import { newId } from "../../src/platform/ids.ts";
import type { TestServer } from "./server.ts";

type Note = { account_id: string; id: string; text: string };
export type Stage = "load" | "decide" | "render" | "record" | "value" | "write";

/** A use case for tests, which fails at the step that a note names. */
function writeNotes(batches: number[]): UseCase<string, null, Note> {
  const trip = (stage: Stage, texts: readonly string[]) => {
    if (texts.includes(`poison ${stage}`)) throw new Error(`tripped in ${stage}`);
  };
  return {
    name: "write-notes",
    rows: () => 1,
    load: async (tx, commands) => {
      batches.push(commands.length);
      await tx.query("select 1");
      trip(
        "load",
        commands.map((command) => command.input),
      );
      return null;
    },
    decide: (_loaded, { account_id, input }, now) => {
      trip("decide", [input]);
      if (input.startsWith("bad")) return { refusal: new Refusal("record_invalid") };
      return { output: { account_id, id: newId(now), text: input }, subject: null };
    },
    record: (tx, _loaded, accepted) => {
      const notes = accepted.map((entry) => entry.output);
      const texts = notes.map((note) => note.text);
      trip("record", texts);
      tx.write("insert into notes select * from unnest($1::uuid[], $2::uuid[], $3::text[])", [
        notes.map((note) => note.account_id),
        notes.map((note) => note.id),
        texts,
      ]);
      // JSON has no big integers: the driver cannot send this.
      if (texts.includes("poison value")) tx.write("select $1::jsonb", [{ amount: 1n }]);
      if (texts.includes("poison write")) tx.write("select 1 / $1::integer", [0]);
    },
    render: ({ text }) => {
      trip("render", [text]);
      return JSON.stringify({ note: text });
    },
  };
}

type Caller = { account_id: string; credential_id: string };

/** The fixture of the executor's tests: a table, and a use case that writes to it. */
export async function openNoteFixture({ database, clock, keyring }: Core) {
  await database.query(
    `create table if not exists notes (account_id uuid, id uuid primary key, text text);
     create unique index if not exists notes_unique on notes (text) where text like 'unique %'`,
  );
  const batches: number[] = [];
  const executor = createExecutor({
    database,
    clock,
    keyring,
    across_accounts: true,
    findActiveCredentials: findActiveKeys,
    afterCommit: () => {},
  });
  const run = executor.register(writeNotes(batches));
  const callerOf = async ({ account_id }: { account_id: string }): Promise<Caller> => {
    const [row] = await database.query<{ id: string }>(
      "select id from api_keys where account_id = $1",
      [account_id],
    );
    return { account_id, credential_id: row!.id };
  };
  return {
    batches,
    callerOf,
    submit: (caller: Caller, input: string, idempotency: Idempotency | null = null) =>
      run({ ...caller, input, bytes: input.length, idempotency }),
    list: (like: string) =>
      database.query<{ text: string }>("select text from notes where text like $1", [like]),
  };
}

/** Revokes the account's key in the database, as another process would. */
export async function revokeKey(server: TestServer, account_id: string): Promise<void> {
  const { database, clock } = server.core;
  const [row] = await database.query<{ id: string }>(
    "select id from api_keys where account_id = $1",
    [account_id],
  );
  const by = { actor: "command line", reason: "test" } as const;
  await revokeApiKey(database, { id: row!.id, ...by }, clock.now());
}
