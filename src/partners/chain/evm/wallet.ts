import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { HDKey } from "@scure/bip32";

/** The account of which deposit addresses are children: BIP-44, coin 60. */
export const ACCOUNT_PATH = "m/44'/60'/0'";
/**
 * Tokens are sent from this address. It is in another account: with the xpub of one account and
 * the private key of one of its children, all its private keys can be computed.
 */
export const TREASURY_PATH = "m/44'/60'/1'/0/0";
const ACCOUNT_DEPTH = 3;
/** Non-hardened children have 31 bits. */
const INDEX_MAX = 2 ** 31 - 1;

/** Derives addresses from a public key: whoever has it can see all deposits but move none. */
export type Wallet = {
  /** Identifies the key without revealing it. */
  fingerprint: string;
  /** The address of an index, in lower case. About a millisecond each. */
  addressAt(index: number): string;
};

/** Throws the end of a sentence about the key. */
export function openWallet(xpub: string): Wallet {
  const account = readKey(xpub);
  if (account.privateKey) {
    // The parsed key is dropped at once; the file must still be cleaned.
    throw new Error("is a private key; it must not be on this machine. Use the xpub");
  }
  if (account.depth !== ACCOUNT_DEPTH) {
    throw new Error(`must be the key of ${ACCOUNT_PATH} (depth 3, not ${account.depth})`);
  }
  const receiving = account.deriveChild(0);
  return {
    fingerprint: account.fingerprint.toString(16).padStart(8, "0"),
    addressAt: (index) => {
      if (!Number.isInteger(index) || index < 0 || index > INDEX_MAX) {
        throw new RangeError(`an index is a whole number from 0 to ${INDEX_MAX}`);
      }
      return addressOf(receiving.deriveChild(index).publicKey!);
    },
  };
}

/** The wallets of these keys, by fingerprint. */
export function openWallets(xpubs: readonly string[]): ReadonlyMap<string, Wallet> {
  return new Map(xpubs.map(openWallet).map((wallet) => [wallet.fingerprint, wallet]));
}

type IssuedAddress = { address: string; wallet: string | null; address_index: number | bigint };

/**
 * Whether an address is the child that its row says: `unknown` where its key is none of these, as
 * whoever can write to the database could claim of any address.
 */
export function proveAddress(
  wallets: ReadonlyMap<string, Wallet>,
  { address, wallet, address_index }: IssuedAddress,
): "proven" | "unknown" | "false" {
  const found = wallets.get(wallet ?? "");
  if (!found) return "unknown";
  const index = Number(address_index);
  return index <= INDEX_MAX && found.addressAt(index) === address ? "proven" : "false";
}

function readKey(xpub: string): HDKey {
  try {
    return HDKey.fromExtendedKey(xpub);
  } catch {
    // The library's message may contain a part of the key.
    throw new Error("is not an extended public key (xpub…); check it for a typo");
  }
}

/** The xpub of a seed's account. */
export function xpubOf(seed: Uint8Array): string {
  return HDKey.fromMasterSeed(seed).derive(ACCOUNT_PATH).publicExtendedKey;
}

/** The treasury's address of a seed. */
export function treasuryOf(seed: Uint8Array): string {
  return addressOf(HDKey.fromMasterSeed(seed).derive(TREASURY_PATH).publicKey!);
}

export function pathOf(index: number): string {
  return `${ACCOUNT_PATH}/0/${index}`;
}

/** Of a compressed public key; in lower case. */
export function addressOf(public_key: Uint8Array): string {
  const point = secp256k1.Point.fromBytes(public_key).toBytes(false).subarray(1);
  return `0x${Buffer.from(keccak_256(point)).subarray(-20).toString("hex")}`;
}
