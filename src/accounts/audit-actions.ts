/** Each is decided by one member, or proposed by one and confirmed by another. */
const KYC_DECISIONS = [
  ...(["approve", "ask_again", "refuse", "deny", "suspend", "unsuspend"] as const),
  ...(["grant_usd_swift", "withdraw_usd_swift", "grant_eur_swift"] as const),
  "withdraw_eur_swift",
] as const;

/** Everything that the audit log can say. The dashboard has a sentence for each. */
export const AUDIT_ACTIONS = [
  ...(["account.create", "account.update", "account.freeze", "account.unfreeze"] as const),
  ...(["account.enable_webhooks", "account.set_billing_email"] as const),
  ...(["api_key.create", "api_key.rotate", "api_key.revoke"] as const),
  ...(["app.create", "app.update", "app.delete", "app.pause", "app.resume"] as const),
  ...(["app.rotate_webhook_secret", "app.switch_webhook_secret"] as const),
  ...(["app.rotate_client_secret", "app.reset_used", "app.replay"] as const),
  ...(["app.disable_webhooks", "app_grant.create", "app_grant.revoke"] as const),
  ...(["archive.write"] as const),
  ...(["bank_exception.assign", "bank_exception.return"] as const),
  ...(["bank_exception.write_off", "bank_exception.dismiss"] as const),
  ...(["bank_file.retry", "bank_item.read", "bank_item.settle"] as const),
  ...(["chain.book", "chain.resume", "chain.resume_sending", "chain.retry_sweep"] as const),
  ...(["deposit.match", "deposit.accept_difference", "deposit.return"] as const),
  ...(["deposit.dismiss", "deposit.set_aside"] as const),
  ...(["document.attach", "document.read", "document.approved", "document.rejected"] as const),
  ...(["encryption.rotate", "export.write", "export.remove", "exposure.convert"] as const),
  ...(["invoice.change"] as const),
  ...(["kyc.create_session", "kyc.read", "kyc.read_file", "kyc.send_back"] as const),
  ...KYC_DECISIONS.flatMap(
    (name) => [`kyc.${name}`, `kyc.propose_${name}`, `kyc.confirm_${name}`] as const,
  ),
  // What a program that checks identities answered.
  ...(["kyc.not_started", "kyc.initiated", "kyc.prechecks_completed"] as const),
  ...(["kyc.application_queued", "kyc.pending_assessment"] as const),
  ...(["kyc.awaiting_manual_review", "kyc.approved", "kyc.retry_required"] as const),
  ...(["kyc.retry_denied", "kyc.failed", "kyc.suspended"] as const),
  ...(["limit.set", "limit.remove", "log_entry.settle", "mail.refuse", "mail.expire"] as const),
  ...(["member.create", "member.invite_again", "member.set_role", "member.remove"] as const),
  ...(["offramp.refund", "offramp.reroute", "offramp.remove"] as const),
  ...(["passkey.create", "passkey.remove", "passkey.rename"] as const),
  ...(["passkey.refuse", "password.set", "password.change", "password.reset"] as const),
  ...(["payment_detail.create", "payout.unanswered", "payouts.hold"] as const),
  ...(["payouts.release", "payout_batch.upload", "payout_batch.change"] as const),
  ...(["payout_batch.create", "payout_batch.delete", "proposal.create"] as const),
  ...(["proposal.confirm", "proposal.reject", "proposal.done", "proposal.void"] as const),
  ...(["proposal.lapsed", "proposal.failed", "proposal.unopposed"] as const),
  ...(["quote.execute", "quote.fund", "rate.confirm", "recovery_codes.create"] as const),
  ...(["refund.create", "refund.fail", "refund_address.create"] as const),
  ...(["screening_match.clear", "screening_match.confirm"] as const),
  ...(["second_factor.create", "second_factor.remove", "second_factor.reset"] as const),
  ...(["send.cancel", "session.create", "session.delete", "session.confirm"] as const),
  ...(["session.password", "session.refuse", "session.end", "session.end_others"] as const),
  ...(["session.switch_account", "travel.export", "treasury.book", "user.erase"] as const),
  ...(["user.request_erasure", "user.restore", "user.freeze", "user.unfreeze"] as const),
  ...(["user.update", "wallet.skip"] as const),
] as const;

/**
 * Acts of which the last one about a record decides something. Their ids ascend in the order in
 * which they are written, also if the clock of one process is behind that of another; except where
 * the operator's own log notes an act in another account, of which that account's log decides.
 */
export const ORDERED_ACTIONS: ReadonlySet<string> = new Set<(typeof AUDIT_ACTIONS)[number]>([
  ...(["account.freeze", "account.unfreeze", "user.freeze", "user.unfreeze"] as const),
  ...(["member.create", "member.set_role", "member.remove"] as const),
  ...(["payouts.hold", "payouts.release"] as const),
  ...KYC_DECISIONS.map((name) => `kyc.${name}` as const),
]);

export type AuditAction = (typeof AUDIT_ACTIONS)[number];
