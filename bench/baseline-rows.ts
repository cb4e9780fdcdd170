import pg from "pg";
import { bodyPlace } from "../src/events/record-events.ts";
import type { NewOfframps } from "../src/offramps/create-offramps.ts";
import { digestFacts, indexReference, type Offramp } from "../src/offramps/model.ts";
import type { OfframpRenderer } from "../src/offramps/render.ts";
import { sealAnswer } from "../src/platform/commands/replay.ts";
import type { Command } from "../src/platform/commands/use-case.ts";
import { seal } from "../src/platform/encryption/cipher.ts";
import { newId } from "../src/platform/ids.ts";
import type { MacBearer } from "../src/platform/sealing/row-mac.ts";
import { digestOf, signEntries } from "../src/platform/sealing/seal.ts";

export const BATCH_BYTES_MAX = 16 * 1024 * 1024;
const INT8_OID = 20;

/** As the service reads it: a JavaScript number would round large amounts. */
export const INT8_AS_BIGINT: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: "text" | "binary") =>
    oid === INT8_OID && format !== "binary"
      ? BigInt
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

type Created = {
  command: Command<NewOfframps>;
  offramps: readonly Offramp[];
  key: Buffer;
  body: string;
  renderer: OfframpRenderer;
  macs: MacBearer;
  now: Date;
};

/** The rows that the service writes for one request, one plain statement each. */
export async function recordCreated(client: pg.PoolClient, created: Created): Promise<void> {
  await insertCommand(client, created);
  for (const offramp of created.offramps) {
    await insertOfframp(client, offramp, created.key);
    await insertEvent(client, offramp, created);
  }
}

async function insertCommand(client: pg.PoolClient, created: Created): Promise<void> {
  const { command, key, body } = created;
  await client.query(
    `insert into commands
       (account_id, id, idempotency_index, request_hash, subject_id, answer, created_at)
     values ($1, $2, $3, $4, $5, $6, now())`,
    [
      command.account_id,
      command.id,
      command.idempotency?.index ?? null,
      command.idempotency?.request_hash ?? null,
      command.input.user_id,
      command.idempotency ? sealAnswer(key, command, body) : null,
    ],
  );
}

async function insertOfframp(client: pg.PoolClient, offramp: Offramp, key: Buffer): Promise<void> {
  const { account_id, id } = offramp;
  const place = { account_id, table: "offramps", column: "details", record_id: id };
  await client.query(
    `insert into offramps (account_id, id, user_id, quote_id, payment_detail_id, status,
       destination_amount, destination_currency, rails, rate, fee, token_amount, token_fee, details,
       document_status, document_source, deposit_token, deposit_token_chain, reference_index,
       created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
       $20, $20)`,
    [
      account_id,
      id,
      offramp.user_id,
      offramp.quote_id,
      offramp.payment_detail_id,
      offramp.status,
      offramp.destination_amount,
      offramp.destination_currency,
      offramp.rails,
      offramp.rate,
      offramp.fee,
      offramp.token_amount,
      offramp.token_fee,
      seal(key, 1, place, Buffer.from(JSON.stringify(offramp.details))),
      offramp.document_status,
      offramp.document_source,
      offramp.deposit_token,
      offramp.deposit_token_chain,
      indexReference(key, offramp),
      offramp.created_at,
    ],
  );
}

async function insertEvent(
  client: pg.PoolClient,
  offramp: Offramp,
  { command, key, renderer, macs, now }: Created,
): Promise<void> {
  const { account_id, user_id, sequence, status } = offramp;
  const id = newId(now);
  const name = "offramp_update";
  const facts = digestFacts(offramp);
  const actor = `api_key:${command.credential_id}`;
  const body = seal(key, 1, bodyPlace(account_id, id), Buffer.from(renderer.event(offramp)));
  const digest = digestOf(
    ...[account_id, id, name, offramp.id, sequence, null, status],
    ...[facts.toString("base64"), user_id, now.toISOString(), null, null, null, null, actor],
  );
  const [signed] = signEntries(macs, "events", [{ account_id, id, digest }]);
  const { mac } = signed!;
  await client.query(
    `insert into events (account_id, id, name, record_id, sequence, from_status, to_status, facts,
       subject_id, body, actor, created_at, mac)
     values ($1, $2, $3, $4, $5, null, $6, $7, $8, $9, $10, $11, $12)`,
    [account_id, id, name, offramp.id, sequence, status, facts, user_id, body, actor, now, mac],
  );
  await client.query(
    `insert into seal_pending (account_id, log, entry_id, digest, mac, noted_at)
     values ($1, 'events', $2, $3, $4, $5)`,
    [account_id, id, digest, mac, now],
  );
}
