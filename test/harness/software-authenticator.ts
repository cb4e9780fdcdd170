import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** What the browser and the authenticator say that a test changes. */
export type Lies = {
  origin?: string;
  rp_id?: string;
  is_verified?: boolean;
  challenge?: string;
  type?: string;
  counter?: number;
  user_handle?: string | null;
  format?: string;
};

type Options = {
  challenge: string;
  rpId?: string;
  rp?: { id?: string };
  user?: { id: string };
  allowCredentials?: { id: string }[];
};

type Credential = { id: Buffer; key: KeyObject; user_handle: string };

const PRESENT = 0x01;
const VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

/**
 * A passkey provider in software: P-256 keys, no attestation, one counter. It answers with the text
 * that the page's script sends in `credential`.
 */
export class SoftwareAuthenticator {
  readonly origin: string;
  counter = 0;
  readonly #credentials: Credential[] = [];

  constructor(origin: string) {
    this.origin = origin;
  }

  create(options: Options, lies: Lies = {}): string {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const id = randomBytes(32);
    this.#credentials.push({ id, key: privateKey, user_handle: options.user!.id });
    const { x, y } = publicKey.export({ format: "jwk" }) as { x: string; y: string };
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const authenticator_data = Buffer.concat([
      this.#head(lies.rp_id ?? options.rp!.id!, HAS_CREDENTIAL, lies),
      ...[Buffer.alloc(16), length, id],
      // COSE: { 1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y }
      ...[Buffer.from("a5010203262001215820", "hex"), Buffer.from(x, "base64url")],
      ...[Buffer.from("225820", "hex"), Buffer.from(y, "base64url")],
    ]);
    // CBOR: { fmt, attStmt: {}, authData }
    const attestation = Buffer.concat([
      ...[Buffer.from("a3", "hex"), cborText("fmt"), cborText(lies.format ?? "none")],
      ...[cborText("attStmt"), Buffer.from("a0", "hex")],
      ...[cborText("authData"), cborBytes(authenticator_data)],
    ]);
    const clientDataJSON = this.#clientData("webauthn.create", options, lies).toString("base64url");
    const attestationObject = attestation.toString("base64url");
    const transports = ["internal"];
    return credentialText(id, { clientDataJSON, attestationObject, transports });
  }

  /** Signs with the credential that was allowed, or, if none is named, with the first. */
  get(options: Options, lies: Lies = {}): string {
    const allowed = options.allowCredentials?.map(({ id }) => id) ?? [];
    const credential = this.#credentials.find(
      ({ id }) => allowed.length === 0 || allowed.includes(id.toString("base64url")),
    );
    if (!credential) throw new Error("no credential is allowed");
    this.counter += 1;
    const authenticator_data = this.#head(lies.rp_id ?? options.rpId!, 0, lies);
    const client_data = this.#clientData("webauthn.get", options, lies);
    const signed = Buffer.concat([authenticator_data, hash(client_data)]);
    const user_handle = lies.user_handle === undefined ? credential.user_handle : lies.user_handle;
    return credentialText(credential.id, {
      clientDataJSON: client_data.toString("base64url"),
      authenticatorData: authenticator_data.toString("base64url"),
      signature: sign("sha256", signed, credential.key).toString("base64url"),
      ...(user_handle === null ? {} : { userHandle: user_handle }),
    });
  }

  #head(rp_id: string, flags: number, { is_verified = true, counter }: Lies): Buffer {
    const head = Buffer.alloc(37);
    hash(Buffer.from(rp_id)).copy(head);
    head.writeUInt8(flags | PRESENT | (is_verified ? VERIFIED : 0), 32);
    head.writeUInt32BE(counter ?? this.counter, 33);
    return head;
  }

  #clientData(type: string, { challenge }: Options, lies: Lies): Buffer {
    const facts = { type, challenge, origin: this.origin, crossOrigin: false };
    const { origin = facts.origin, challenge: other = challenge } = lies;
    return Buffer.from(
      JSON.stringify({ ...facts, origin, challenge: other, type: lies.type ?? type }),
    );
  }
}

function credentialText(id: Buffer, response: object): string {
  const text = id.toString("base64url");
  const fields = { id: text, rawId: text, type: "public-key", response };
  return JSON.stringify({ ...fields, clientExtensionResults: {} });
}

function hash(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}

function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 | text.length]), Buffer.from(text)]);
}

function cborBytes(bytes: Buffer): Buffer {
  const head = Buffer.alloc(3, 0x59);
  head.writeUInt16BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}
