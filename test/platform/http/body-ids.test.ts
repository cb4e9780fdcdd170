import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  exampleBody,
  fillPath,
  type Operation,
  readDocument,
  type Schema,
} from "../../harness/api-document.ts";
import { createRecords, newInvoice, type RecordIds } from "../../harness/records.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

/** Ids of other systems: transactions of a chain, the buyer's orders. */
const FOREIGN_IDS = ["tx_id", "purchaseOrderId"];
/** Ids of any account: the operator settles deposits and the onramps that they pay. */
const OF_ALL_ACCOUNTS = ["onramp_id"];

/** Where the documented example has no place for the id. */
const PAYMENT_OPTIONS = [{ type: "bank-account", value: { paymentInformation: {} } }];
const BODIES: Record<string, object> = {
  resolveBankException: { resolution: "assign", reason: "It was found." },
  createInvoice: { ...newInvoice(), paymentOptions: PAYMENT_OPTIONS },
  changeInvoice: { type: "changePaymentOptions", input: { paymentOptions: PAYMENT_OPTIONS } },
};

type BodyId = { operation: Operation; path: string[]; field: string };

let server: TestServer;
let own: RecordIds;
let other: RecordIds;
let ids: BodyId[];
beforeAll(async () => {
  server = await startTestServer();
  own = await createRecords(server, server.key);
  other = await createRecords(server, (await server.addAccount("Other")).key);
  ids = readDocument(server.app.server).operations.flatMap((operation) =>
    operation.body ? findIds(operation, operation.body.schema, []) : [],
  );
});
afterAll(() => server.close());

/** The paths of a body that contain a record's id. */
function findIds(operation: Operation, schema: Schema, path: string[]): BodyId[] {
  const forms: Schema[] = schema.anyOf ?? [];
  const found = forms.flatMap((form) => findIds(operation, form, path));
  if (schema.items) found.push(...findIds(operation, schema.items, [...path, "0"]));
  for (const [name, inner] of Object.entries<Schema>(schema.properties ?? {})) {
    const at = [...path, name];
    if (/(_id|Id)$/.test(name) && !FOREIGN_IDS.includes(name)) {
      found.push({ operation, path: at, field: fieldOf(at) });
    } else found.push(...findIds(operation, inner, at));
  }
  return found;
}

function fieldOf(path: readonly string[]): string {
  return path.reduce((field, part) => {
    if (/^\d+$/.test(part)) return `${field}[${part}]`;
    return field === "" ? part : `${field}.${part}`;
  }, "");
}

/** `paymentDetailId` of an invoice is `payment_detail_id` elsewhere. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Sends the documented example, with this id at one path. */
async function send({ operation, path }: BodyId, id: unknown) {
  const example = BODIES[operation.name] ?? exampleBody(operation, own) ?? {};
  const body = structuredClone(example) as Schema;
  const holder = path.slice(0, -1).reduce<Schema>((inner, part) => inner[part], body);
  holder[path.at(-1)!] = id;
  return server.call(operation.method, fillPath(operation, own), body);
}

describe("an id in a body", () => {
  it("that is unknown to the caller is 404 with its field, whatever else is wrong", async () => {
    const names = ids.map(({ operation, field }) => `${operation.name} ${field}`);
    expect(names.length).toBeGreaterThan(4);
    for (const [at, one] of ids.entries()) {
      const last = snakeCase(one.path.at(-1)!) as keyof RecordIds;
      const foreign = OF_ALL_ACCOUNTS.includes(last) ? [] : [other[last]];
      for (const id of [randomUUID(), own.user_id, ...foreign]) {
        const answer = await send(one, id);
        const { status, error_code, errors } = answer.body;
        expect([names[at], status, error_code]).toEqual([names[at], 404, "record_not_found"]);
        expect(errors).toContainEqual(expect.objectContaining({ field: one.field }));
      }
    }
  });

  it.each(["x", "0x7", 7, "00000000-0000-0000-0000-00000000000g"])(
    "that is malformed, %j, is 422 record_invalid with its field",
    async (id) => {
      for (const one of ids) {
        const answer = await send(one, id);
        expect(answer.body).toMatchObject({ status: 422, error_code: "record_invalid" });
        const problem = { field: one.field, code: "record_invalid" };
        expect(answer.body.errors).toContainEqual(expect.objectContaining(problem));
      }
    },
  );
});
