import { hkdfSync } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { HDKey } from "@scure/bip32";
import { ACCOUNT_PATH, addressOf, openWallet, TREASURY_PATH, xpubOf } from "../wallet.ts";
import type { SigningKey } from "./port.ts";
import type { Signature } from "./transaction.ts";

/** The private keys of a seed. They stay inside: only addresses and signatures leave. */
export type Keys = {
  treasury: string;
  /** The fingerprint of the wallet of deposit addresses. */
  wallet: string;
  /** Proves that the signer wrote a line of its journal. */
  journal_key: Buffer;
  addressAt(address_index: number): string;
  /** The same digest has the same signature every time (RFC 6979). */
  sign(key: SigningKey, digest: Uint8Array): Signature;
};

export function openKeys(seed: Uint8Array): Keys {
  const root = HDKey.fromMasterSeed(seed);
  const treasury = root.derive(TREASURY_PATH);
  const deposits = root.derive(ACCOUNT_PATH).deriveChild(0);
  const wallet = openWallet(xpubOf(seed));
  const privateKeyOf = (key: SigningKey) =>
    (key.kind === "treasury" ? treasury : deposits.deriveChild(key.address_index)).privateKey!;
  return {
    treasury: addressOf(treasury.publicKey!),
    wallet: wallet.fingerprint,
    journal_key: Buffer.from(hkdfSync("sha256", seed, "", "sliproad signer journal", 32)),
    addressAt: wallet.addressAt,
    sign: (key, digest) =>
      secp256k1.sign(digest, privateKeyOf(key), { prehash: false, format: "recovered" }),
  };
}
