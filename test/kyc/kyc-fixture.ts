import { crc32, deflateSync } from "node:zlib";
import type { Answer, TestServer } from "../harness/server.ts";

export const LIVING = {
  address_line1: "12 Invented Street",
  city: "Lisbon",
  postcode: "1100-148",
  country: "PT",
  nationality: "PT",
  phone: "+351 210 000 000",
};

/** A user whose name the account knows; more fields may be given. */
export async function addUser(
  server: TestServer,
  fields: Record<string, unknown> = {},
  key?: string,
): Promise<string> {
  const user = {
    beneficiary_type: "individual",
    email: `person-${crypto.randomUUID()}@example.com`,
    first_name: "Marisol",
    last_name: "Inventada",
    ...fields,
  };
  const made = await server.call("POST", "/users", { user }, key ? { key } : {});
  if (made.status !== 200) throw new Error(made.text);
  return made.body.user.id;
}

export function addBusiness(server: TestServer): Promise<string> {
  return addUser(server, {
    beneficiary_type: "business",
    first_name: undefined,
    last_name: undefined,
    company_name: "Invented Payroll Ltd",
  });
}

export async function openLink(server: TestServer, user_id: string, key?: string): Promise<string> {
  const made = await server.call("POST", `/users/${user_id}/kycs`, undefined, key ? { key } : {});
  if (made.status !== 200) throw new Error(made.text);
  return new URL(made.body.kyc.url).pathname.split("/")[2]!;
}

/** The page without a browser: keeps the cookie, sends the header. */
export class PageVisitor {
  readonly #server: TestServer;
  cookie = "";
  /** The link of the page, from the response to opening it. */
  link_id = "";
  /** All responses of the server, for searching. */
  readonly seen: string[] = [];

  constructor(server: TestServer) {
    this.#server = server;
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    extra: { raw?: Uint8Array; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const answer = await this.#server.call(method, path, body, {
      key: null,
      ...(extra.raw ? { raw: extra.raw } : {}),
      headers: {
        ...(method === "GET" ? {} : { "x-kyc-page": "1" }),
        ...(this.cookie ? { cookie: this.cookie } : {}),
        ...(this.link_id ? { "x-kyc-link": this.link_id } : {}),
        ...extra.headers,
      },
    });
    const [set] = answer.headers.getSetCookie();
    if (set) this.cookie = set.split(";")[0]!;
    this.seen.push(answer.text, JSON.stringify([...answer.headers]));
    return answer;
  }

  async open(token: string): Promise<Answer> {
    const opened = await this.send("POST", `/kyc/${token}/session`);
    if (opened.status === 200) this.link_id = opened.body.kyc.link_id;
    return opened;
  }

  save(identity: Record<string, unknown>): Promise<Answer> {
    return this.send("PATCH", "/kyc/session/identity", { identity });
  }

  confirm(date_of_birth: string): Promise<Answer> {
    return this.send("POST", "/kyc/session/confirm", { date_of_birth });
  }

  upload(slot: string, bytes: Uint8Array): Promise<Answer> {
    const { raw, headers } = multipart(bytes);
    return this.send("PUT", `/kyc/session/files/${slot}`, undefined, { raw, headers });
  }

  submit(): Promise<Answer> {
    return this.send("POST", "/kyc/session/submit");
  }

  /** Completes everything for an individual with a passport, up to the submission. */
  async fill(fields: Record<string, unknown> = {}): Promise<void> {
    const identity = { date_of_birth: "21/04/1988", ...LIVING, document_type: "passport" };
    await expectFine(this.save({ ...identity, ...fields }));
    await expectFine(this.upload("document_front", png()));
    await expectFine(this.upload("selfie", jpeg()));
  }
}

const { nationality: _, ...ADDRESS } = LIVING;
/** What a business says of itself, who acts for it, and that nobody owns much of it. */
export const COMPANY = {
  ...ADDRESS,
  registration_number: "PT 500 100 200",
  business_activity: "Payroll",
  controller_first_name: "Ilse",
  controller_last_name: "Erfunden",
  controller_date_of_birth: "02/03/1970",
  controller_nationality: "PT",
  controller_document_type: "passport",
  has_owners: "no",
};

/** An owner's fields, as the page names them. */
export function ownerFields(number: number, owner: Record<string, unknown> = {}) {
  const whole = {
    first_name: "Ottilie",
    last_name: "Anteil",
    date_of_birth: "05/06/1980",
    nationality: "DE",
    share: "40",
    ...owner,
  };
  return Object.fromEntries(
    Object.entries(whole).map(([part, value]) => [`owner_${number}_${part}`, value]),
  );
}

/** A business at its page, with everything but the submission done. */
export async function openCompany(server: TestServer, fields: Record<string, unknown> = {}) {
  const user_id = await addBusiness(server);
  const page = new PageVisitor(server);
  const token = await openLink(server, user_id);
  await expectFine(page.open(token));
  await expectFine(page.save({ ...COMPANY, ...fields }));
  await expectFine(page.upload("registration_document", pdf()));
  await expectFine(page.upload("document_front", png()));
  await expectFine(page.upload("selfie", png()));
  return { user_id, page, token };
}

export async function expectFine(sent: Promise<Answer>): Promise<Answer> {
  const answer = await sent;
  if (answer.status !== 200) throw new Error(answer.text);
  return answer;
}

export function multipart(bytes: Uint8Array) {
  const head =
    '--kyc\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n' +
    "Content-Type: application/octet-stream\r\n\r\n";
  const raw = Buffer.concat([Buffer.from(head), bytes, Buffer.from("\r\n--kyc--\r\n")]);
  return { raw, headers: { "content-type": "multipart/form-data; boundary=kyc" } };
}

/** A valid image that contains `text` in clear. Compression level 0 keeps it readable. */
export function png(text = "", width = 320, height = 200, level = 6): Buffer {
  // Each line begins with the number of its filter: none.
  const line = Buffer.concat([Buffer.from([0]), Buffer.alloc(width, 200)]);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => line)), {
    level,
  });
  return pngOf(pixels, text, width, height);
}

/** With these compressed pixels, valid or not. */
export function pngOf(pixels: Buffer, text = "", width = 320, height = 200): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("tEXt", Buffer.from(`Comment\0${text}`)),
    chunk("IDAT", pixels),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(kind: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(kind, "latin1"), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** The segments of a baseline JPEG; its data is noise. */
export function jpeg(width = 320, height = 200): Buffer {
  const segment = (kind: number, content: number[]) => {
    const length = content.length + 2;
    return [0xff, kind, length >> 8, length & 255, ...content];
  };
  return Buffer.from([
    ...[0xff, 0xd8],
    ...segment(0xe0, [0x4a, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    ...segment(
      0xdb,
      Array.from({ length: 65 }, (_, at) => (at === 0 ? 0 : 1)),
    ),
    ...segment(0xc4, [0, ...Array.from({ length: 16 }, (_, at) => (at === 0 ? 1 : 0)), 0]),
    ...segment(0xc0, [8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0]),
    ...segment(0xda, [1, 1, 0, 0, 63, 0]),
    ...Array.from({ length: 3000 }, (_, at) => at % 250),
    ...[0xff, 0xd9],
  ]);
}

export function pdf(): Buffer {
  return Buffer.from("%PDF-1.4\n1 0 obj\n<<>>\nendobj\nstartxref\n9\n%%EOF\n");
}

export async function statusOf(server: TestServer, user_id: string, key?: string): Promise<string> {
  const shown = await server.call("GET", `/users/${user_id}`, undefined, key ? { key } : {});
  return shown.body.user.kyc.general.status;
}
