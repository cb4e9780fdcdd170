import type { CallOptions } from "../api.ts";
import type { Answer, Body, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const DETAIL = "/sandbox/users/{user_id}/payment_details/{payment_detail_id}";
const ONRAMP = "/sandbox/onramps/{onramp_id}";
const CRYPTO_DEPOSITS = "/sandbox/crypto_deposits";
const CRYPTO_TRANSFERS = "/sandbox/crypto_transfers";

export type SandboxClock = Answer<"get", "/sandbox/clock">["clock"];
export type SandboxCryptoDeposit = Answer<"post", typeof CRYPTO_DEPOSITS>["crypto_deposit"];
export type NewSandboxCryptoDeposit = Body<"post", typeof CRYPTO_DEPOSITS>["crypto_deposit"];
export type SandboxCryptoTransfer = Answer<"post", typeof CRYPTO_TRANSFERS>["crypto_transfer"];
export type NewSandboxCryptoTransfer = Body<"post", typeof CRYPTO_TRANSFERS>["crypto_transfer"];

export type NewSandboxWebhook = Body<"post", "/sandbox/webhook">;
export type SandboxWebhook = Answer<"post", "/sandbox/webhook">["webhook"];
export type NewSandboxDeposit = Body<"post", "/sandbox/deposits">["deposit"];

/** Simulates the partners. In live mode none of these routes exist. */
export class Sandbox extends Resource {
  async setKycStatus(
    user_id: string,
    status: string,
    options?: CallOptions,
  ): Promise<Schema<"User">> {
    const input = { path: { user_id }, body: { kyc: { status } } };
    return this.api.sendFor("user", "patch", "/sandbox/users/{user_id}/kycs", input, options);
  }

  async setPaymentDetailStatus(
    user_id: string,
    payment_detail_id: string,
    status: string,
    options?: CallOptions,
  ): Promise<Schema<"PaymentDetail">> {
    const path = { user_id, payment_detail_id };
    const input = { path, body: { payment_detail: { status } } };
    return this.api.sendFor("payment_detail", "patch", DETAIL, input, options);
  }

  /** Moves along the legal path to this state; each step is recorded. */
  async setOfframpStatus(
    offramp_id: string,
    status: string,
    options?: CallOptions,
  ): Promise<Schema<"Offramp">> {
    const input = { path: { offramp_id }, body: { offramp: { status } } };
    return this.api.sendFor("offramp", "patch", "/sandbox/offramps/{offramp_id}", input, options);
  }

  async setOnrampStatus(
    onramp_id: string,
    status: string,
    options?: CallOptions,
  ): Promise<Answer<"patch", typeof ONRAMP>["onramp"]> {
    const input = { path: { onramp_id }, body: { onramp: { status } } };
    return this.api.sendFor("onramp", "patch", ONRAMP, input, options);
  }

  /** Simulates received fiat; the same `bank_reference` again is the same deposit. */
  async createDeposit(
    deposit: NewSandboxDeposit,
    options?: CallOptions,
  ): Promise<Schema<"Deposit">> {
    const input = { body: { deposit } };
    return this.api.sendFor("deposit", "post", "/sandbox/deposits", input, options);
  }

  /** Simulates a transfer to a quote's address. */
  async createCryptoDeposit(
    crypto_deposit: NewSandboxCryptoDeposit,
    options?: CallOptions,
  ): Promise<SandboxCryptoDeposit> {
    const input = { body: { crypto_deposit } };
    return this.api.sendFor("crypto_deposit", "post", CRYPTO_DEPOSITS, input, options);
  }

  /** A transfer between two wallets, such as the payment of an invoice on chain. */
  async createCryptoTransfer(
    crypto_transfer: NewSandboxCryptoTransfer,
    options?: CallOptions,
  ): Promise<SandboxCryptoTransfer> {
    const input = { body: { crypto_transfer } };
    return this.api.sendFor("crypto_transfer", "post", CRYPTO_TRANSFERS, input, options);
  }

  async setInvoiceStatus(
    invoice_id: string,
    status: string,
    options?: CallOptions,
  ): Promise<Schema<"Invoice">> {
    const input = { path: { invoice_id }, body: { invoice: { status } } };
    return this.api.send("patch", "/sandbox/invoices/{invoice_id}", input, options);
  }

  /** Sends a sample event to every application that subscribed to it. */
  async sendWebhook(sample: NewSandboxWebhook, options?: CallOptions): Promise<SandboxWebhook> {
    const input = { body: sample };
    return this.api.sendFor("webhook", "post", "/sandbox/webhook", input, options);
  }

  async showClock(options?: CallOptions): Promise<SandboxClock> {
    return this.api.sendFor("clock", "get", "/sandbox/clock", {}, options);
  }

  /** Forward only, for the whole installation; returns when everything that became due is done. */
  async advanceClock(advance_ms: number, options?: CallOptions): Promise<SandboxClock> {
    const input = { body: { advance_ms } };
    return this.api.sendFor("clock", "post", "/sandbox/clock", input, options);
  }
}
