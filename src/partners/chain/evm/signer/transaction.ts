import { RLP } from "@ethereumjs/rlp";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { addressOf } from "../wallet.ts";
import type { SignedAction, SignedTransaction, SignRequest } from "./port.ts";

/** 65 bytes: the recovery bit, r and s, as the library writes them. */
export type Signature = Uint8Array;
/** `authorization` is the deposit key's, where the action needs it. */
export type Signatures = { transaction: Signature; authorization: Signature | null };

type Authorization = Extract<SignedAction, { kind: "sweep_with_authorization" }>;
/** Numbers are encoded without leading zeros, zero as nothing. */
type Item = bigint | Uint8Array | Item[];

/** EIP-1559. */
const TRANSACTION_TYPE = 2;
const TRANSFER = selectorOf("transfer(address,uint256)");
const TRANSFER_WITH_AUTHORIZATION = selectorOf(
  "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32," +
    "uint8,bytes32,bytes32)",
);
const AUTHORIZATION_TYPE = hashOf(
  "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter," +
    "uint256 validBefore,bytes32 nonce)",
);

/** What the key of a deposit address signs so that the treasury may take its tokens (EIP-712). */
export function authorizationDigest(action: Authorization, treasury: string): Uint8Array {
  const { address, amount, valid_before, authorization_nonce } = action;
  const message = [
    AUTHORIZATION_TYPE,
    ...[word(address), word(treasury), word(amount)],
    ...[word(0n), word(valid_before), word(authorization_nonce)],
  ];
  const head = [Buffer.of(0x19, 0x01), word(action.domain_separator)];
  return keccak_256(Buffer.concat([...head, keccak_256(Buffer.concat(message))]));
}

/** What the key of the transaction's sender signs. */
export function transactionDigest(
  request: SignRequest,
  treasury: string,
  authorization: Signature | null,
): Uint8Array {
  return keccak_256(encode(fieldsOf(request, treasury, authorization)));
}

/** The bytes for a node. Throws where the signature is not that of the sender. */
export function assemble(
  request: SignRequest,
  treasury: string,
  { transaction, authorization }: Signatures,
): SignedTransaction {
  const fields = fieldsOf(request, treasury, authorization);
  const from = senderOf(request, treasury);
  const digest = keccak_256(encode(fields));
  if (recover(transaction, digest) !== from) {
    throw new Error(`the signature is not that of ${from}`);
  }
  const { recovery, r, s } = split(transaction);
  const bytes = encode([...fields, BigInt(recovery), r, s]);
  return { raw: toHex(bytes), tx_id: toHex(keccak_256(bytes)), from };
}

export function senderOf({ key }: SignRequest, treasury: string): string {
  return key.kind === "treasury" ? treasury : key.address;
}

function fieldsOf(request: SignRequest, treasury: string, authorization: Signature | null): Item[] {
  const { to, value, data } = callOf(request, treasury, authorization);
  return [
    ...[BigInt(request.chain_id), BigInt(request.nonce)],
    ...[request.priority_fee, request.max_fee, request.gas],
    ...[fromHex(to), value, data],
    [],
  ];
}

type Call = { to: string; value: bigint; data: Uint8Array };

function callOf(request: SignRequest, treasury: string, authorization: Signature | null): Call {
  const { action } = request;
  switch (action.kind) {
    case "token_transfer": {
      const data = Buffer.concat([TRANSFER, word(action.to), word(action.amount)]);
      return { to: action.contract, value: 0n, data };
    }
    case "gas_top_up":
      return { to: action.address, value: action.amount, data: new Uint8Array() };
    case "cancel":
      return { to: senderOf(request, treasury), value: 0n, data: new Uint8Array() };
    case "sweep_with_authorization":
      return {
        to: action.contract,
        value: 0n,
        data: authorizedTransfer(action, treasury, authorization),
      };
  }
}

function authorizedTransfer(
  action: Authorization,
  treasury: string,
  authorization: Signature | null,
): Uint8Array {
  const signed = authorization ?? new Uint8Array();
  if (recover(signed, authorizationDigest(action, treasury)) !== action.address) {
    throw new Error(`the authorization is not that of ${action.address}`);
  }
  const { recovery, r, s } = split(signed);
  const { address, amount, valid_before, authorization_nonce } = action;
  return Buffer.concat([
    TRANSFER_WITH_AUTHORIZATION,
    ...[word(address), word(treasury), word(amount), word(0n), word(valid_before)],
    ...[word(authorization_nonce), word(27 + recovery), word(r), word(s)],
  ]);
}

/** The address whose key signed; null if no key can have. */
function recover(signature: Signature, digest: Uint8Array): string | null {
  try {
    return addressOf(secp256k1.recoverPublicKey(signature, digest, { prehash: false }));
  } catch {
    // The library throws for numbers that are not a signature.
    return null;
  }
}

function split(signature: Signature): { recovery: number; r: bigint; s: bigint } {
  const { recovery, r, s } = secp256k1.Signature.fromBytes(signature, "recovered");
  return { recovery: recovery!, r, s };
}

function encode(fields: Item[]): Uint8Array {
  return Buffer.concat([Buffer.of(TRANSACTION_TYPE), RLP.encode(fields)]);
}

/** 32 bytes, as arguments of contracts are. */
function word(value: bigint | number | string): Uint8Array {
  const hex = BigInt(value).toString(16).padStart(64, "0");
  if (hex.length > 64) throw new RangeError("a number of more than 32 bytes");
  return Buffer.from(hex, "hex");
}

function selectorOf(signature: string): Uint8Array {
  return hashOf(signature).subarray(0, 4);
}

function hashOf(text: string): Uint8Array {
  return keccak_256(Buffer.from(text));
}

function fromHex(hex: string): Uint8Array {
  return Buffer.from(hex.slice(2), "hex");
}

function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString("hex")}`;
}
