import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { signingKey } from "../../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../../src/platform/tasks/real-time.ts";
import { verify } from "../../../src/verify/verify.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../../harness/ramp.ts";
import type { Answer, TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

export const PDF = Buffer.from("%PDF-1.7 an invented invoice");
export const PNG = Buffer.from("\x89PNG\r\n\x1a\n an invented picture", "latin1");
export const JPG = Buffer.from("\xff\xd8\xff\xe0 an invented photo", "latin1");

export type NewOfframp = {
  account?: "eur" | "usd" | "usd_swift";
  amount?: number;
  submitted_url?: string;
  metadata?: Record<string, string>;
};
export type TestOfframp = { id: string; user_id: string; quote_id: string };
export type UploadOptions = {
  key?: string;
  idempotency_key?: string;
  name?: string;
  declared_type?: string;
  part?: string;
};

/** The actions of document tests, on a server of their own. */
export type DocumentFixture = Awaited<ReturnType<typeof openDocumentFixture>>;

export async function openDocumentFixture(server: TestServer) {
  const user_id = await addApprovedUser(server);
  const details = {
    eur: await addPaymentDetail(server, user_id, "eur"),
    usd: await addPaymentDetail(server, user_id, "usd"),
    usd_swift: await addPaymentDetail(server, user_id, "usd_swift"),
  };

  /** The response to creating an offramp in a quote of its own. */
  async function tryOfframp(request: NewOfframp, quote_id?: string): Promise<Answer> {
    const { account = "eur", amount = 1000, submitted_url, metadata = {} } = request;
    const item = {
      payment_detail_id: details[account],
      destination_amount: amount,
      destination_currency: account.slice(0, 3),
      metadata,
      ...(account === "usd_swift" ? { rails: "swift" } : {}),
      ...(submitted_url ? { supporting_document_attributes: { submitted_url } } : {}),
    };
    const path = `/users/${user_id}/quotes/${quote_id ?? (await addQuote(server, user_id))}/offramps`;
    return server.call("POST", path, { offramps: [item] });
  }

  /** An offramp in a quote of its own. */
  async function addOfframp(request: NewOfframp = {}): Promise<TestOfframp> {
    const quote_id = await addQuote(server, user_id);
    const made = await tryOfframp(request, quote_id);
    expect(made.status, made.text).toBe(200);
    return { id: made.body.offramps[0].id, user_id, quote_id };
  }

  const documentPath = (id: string) => `/offramps/${id}/supporting-documents`;
  const show = async ({ id }: TestOfframp) =>
    (await server.call("GET", `/users/${user_id}/offramps/${id}`)).body.offramp;
  // biome-ignore lint/suspicious/noExplicitAny: an offramp as the server showed it.
  const waitUntil = (offramp: TestOfframp, is_so: (shown: any) => boolean) =>
    waitFor(async () => {
      const shown = await show(offramp);
      return is_so(shown) && shown;
    });

  return {
    server,
    user_id,
    addOfframp,
    tryOfframp,
    documentPath,
    show,
    waitUntil,
    waitForStatus: (offramp: TestOfframp, status: string) =>
      waitUntil(offramp, (shown) => shown.status === status),
    upload: ({ id }: TestOfframp, content: Uint8Array, options: UploadOptions = {}) =>
      upload(server, documentPath(id), content, options),
    /** Uploads a document before its offramps. */
    uploadFirst: async (content: Uint8Array): Promise<{ id: string; submitted_url: string }> => {
      const answer = await upload(server, `/users/${user_id}/documents`, content, {});
      expect(answer.status, answer.text).toBe(200);
      return answer.body.document;
    },
    download: ({ id }: TestOfframp, key = server.key) => download(server, documentPath(id), key),
    review: ({ id }: TestOfframp, supporting_document: unknown) =>
      server.call("PATCH", documentPath(id), { supporting_document }),
    execute: async (offramp: TestOfframp) => {
      const executed = await execute(server, user_id, offramp.quote_id);
      expect(executed.status, executed.text).toBe(200);
    },
    /** Moves it to a state in which its document can no longer be reviewed. */
    beginPayout: (offramp: TestOfframp) => moveTo(server, offramp, "sending_fiat"),
    moveTo: (offramp: TestOfframp, status: string) => moveTo(server, offramp, status),
    advance: async (minutes: number) => {
      const request = { advance_ms: minutes * 60_000 };
      const moved = await server.call("POST", "/sandbox/clock", request);
      expect(moved.body, moved.text).toMatchObject({ clock: { idle: true } });
    },
    audit: ({ id }: TestOfframp) => listAudit(server, id),
    /** File names of the copies on disk. */
    listFiles: async ({ id }: TestOfframp) => {
      const directory = join(server.data_dir, "files", server.account_id, id.slice(-2), id);
      return (await readdir(directory).catch(() => [])).sort();
    },
    verify: () => {
      const { config, database, clock } = server.core;
      const time = { now: clock.now(), real_now: realTime(clock) };
      return verify(database, signingKey(signingSeed(config)), time);
    },
  };
}

export function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

async function upload(
  server: TestServer,
  path: string,
  content: Uint8Array,
  options: UploadOptions,
): Promise<Answer> {
  const { name = "invoice.pdf", declared_type = "application/pdf", part = "file" } = options;
  const form = new FormData();
  form.set(part, new Blob([content as never], { type: declared_type }), name);
  const answer = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${options.key ?? server.key}`,
      ...(options.idempotency_key ? { "idempotency-key": options.idempotency_key } : {}),
    },
    body: form,
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) };
}

async function download(server: TestServer, path: string, key: string) {
  const answer = await fetch(`${server.url}${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const content = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, content };
}

async function moveTo(server: TestServer, { id }: TestOfframp, status: string): Promise<void> {
  const moved = await server.call("PATCH", `/sandbox/offramps/${id}`, { offramp: { status } });
  expect(moved.status, moved.text).toBe(200);
}

type AuditLine = { actor: string; action: string; reason: string; hash: string; replaced?: string };

async function listAudit(server: TestServer, id: string): Promise<AuditLine[]> {
  const rows = await server.db.database.query<AuditLine & { detail: string }>(
    "select actor, action, reason, detail from audit_entries where record = $1 order by id",
    [`offramp:${id}`],
  );
  return rows.map(({ detail, ...line }) => {
    const { hash, replaced } = JSON.parse(detail);
    return { ...line, hash, ...(replaced ? { replaced } : {}) };
  });
}

export type Handle = (answer: ServerResponse, request: IncomingMessage) => void;

/** An external web server that documents are fetched from. */
export async function startReceiver(pages: Record<string, Handle>) {
  const tries: Record<string, number> = {};
  const receiver = http.createServer((request, answer) => {
    const path = request.url!;
    tries[path] = (tries[path] ?? 0) + 1;
    const handle = pages[path] ?? (() => answer.writeHead(404).end());
    handle(answer, request);
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    /** Requests so far, by path. */
    tries,
    close: () => {
      receiver.closeAllConnections();
      receiver.close();
    },
  };
}
