import type { SignedAction, SigningKey, SignRequest } from "./port.ts";

/** Reads a value of a request; throws the end of a sentence that begins with its name. */
type Read = (value: unknown) => unknown;
type Fields = Readonly<Record<string, Read>>;

const INDEX_MAX = 2 ** 31 - 1;

const address = text(/^0x[0-9a-f]{40}$/, "must be an address in lower case");
const bytes32 = text(/^0x[0-9a-f]{64}$/, "must be 32 bytes in lower case");
const index = whole(INDEX_MAX);
const fee = amount(0n);

const KEYS: Readonly<Record<SigningKey["kind"], Fields>> = {
  treasury: {},
  deposit: { address_index: index, address },
};
const ACTIONS: Readonly<Record<SignedAction["kind"], Fields>> = {
  token_transfer: { contract: address, to: address, amount: amount(1n) },
  gas_top_up: { address_index: index, address, amount: amount(1n) },
  cancel: {},
  sweep_with_authorization: {
    ...{ contract: address, address_index: index, address, amount: amount(1n) },
    ...{ domain_separator: bytes32, authorization_nonce: bytes32 },
    valid_before: whole(Number.MAX_SAFE_INTEGER),
  },
};
const REQUEST: Fields = {
  reference: text(/^[!-~]{1,200}$/, "must be 1 to 200 letters, digits and signs"),
  chain_id: whole(Number.MAX_SAFE_INTEGER),
  key: oneOf(KEYS),
  nonce: whole(Number.MAX_SAFE_INTEGER),
  action: oneOf(ACTIONS),
  ...{ gas: fee, max_fee: fee, priority_fee: fee },
};

/** JSON; amounts are text, as JSON has no such numbers. */
export function requestText(request: SignRequest): string {
  return toText(request);
}

/** Throws a sentence where it is not a request. */
export function parseRequest(json_text: string): SignRequest {
  return readFields(parse(json_text), "The request", REQUEST) as SignRequest;
}

/** The same text for the same action, whatever the order of its fields. */
export function actionText(action: SignedAction): string {
  return toText(oneOf(ACTIONS)(action));
}

export function parseAction(json_text: string): SignedAction {
  return oneOf(ACTIONS)(parse(json_text)) as SignedAction;
}

function toText(value: unknown): string {
  return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one));
}

function parse(json_text: string): unknown {
  try {
    return JSON.parse(json_text);
  } catch {
    throw new Error("The request is not JSON.");
  }
}

/** In the order of the table. */
function readFields(value: unknown, name: string, fields: Fields): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new Error(`${name} must be an object.`);
  const given = value as Record<string, unknown>;
  const unknown = Object.keys(given).find((field) => !(field in fields));
  if (unknown !== undefined) throw new Error(`${name} has the unknown field ${unknown}.`);
  const entries = Object.entries(fields).map(([field, read]) => {
    try {
      return [field, read(given[field])];
    } catch (error) {
      throw new Error(`${name}: ${field} ${(error as Error).message}`);
    }
  });
  return Object.fromEntries(entries);
}

function oneOf(kinds: Readonly<Record<string, Fields>>): Read {
  return (value) => {
    const kind = (value as { kind?: unknown } | null)?.kind;
    const fields = typeof kind === "string" && Object.hasOwn(kinds, kind) ? kinds[kind] : null;
    if (!fields) throw new Error(`must have a kind of ${Object.keys(kinds).join(", ")}.`);
    return readFields(value, String(kind), { kind: (same) => same, ...fields });
  };
}

function text(form: RegExp, reason: string): Read {
  return (value) => {
    if (typeof value === "string" && form.test(value)) return value;
    throw new Error(`${reason}.`);
  };
}

function whole(max: number): Read {
  return (value) => {
    if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max) return value;
    throw new Error(`must be a whole number from 0 to ${max}.`);
  };
}

/** A number or the text of one, of at most 32 bytes. */
function amount(min: bigint): Read {
  return (value) => {
    const is_text = typeof value === "string" && /^\d{1,78}$/.test(value);
    const number = is_text || typeof value === "bigint" ? BigInt(value) : null;
    if (number !== null && number >= min && number < 2n ** 256n) return number;
    throw new Error(`must be the text of a whole number of at least ${min}.`);
  };
}
