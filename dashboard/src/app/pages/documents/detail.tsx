import { Button, Group } from "@mantine/core";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { api, tell } from "../../api.ts";
import { ActDialog } from "../../parts/act-dialog.tsx";
import { Amount } from "../../parts/amount.tsx";
import { BackLink } from "../../parts/back-link.tsx";
import { DocumentPreview } from "../../parts/document-preview.tsx";
import { Copied, Fact } from "../../parts/fact.tsx";
import { formatAmount } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { ReasonInput } from "../../parts/reason-input.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";
import { loadFile, type ReviewedDocument, useDocument } from "./document.ts";

type Verdict = "approve" | "reject";

/** One document: the file, what it is to explain, and the decision. */
export function DocumentDetail({ id }: { id: string }) {
  const shown = useDocument(id);
  const [verdict, decide] = useState<Verdict | null>(null);
  if (shown.isPending) return <Loading />;
  if (shown.isError) {
    return (
      <>
        <BackLink name="Documents" path="/documents" />
        <PageHead title="Document" />
        <Failure error={shown.error} onRetry={() => shown.refetch()} />
      </>
    );
  }
  const { document, is_reviewer } = shown.data;
  const { amount, currency, payee } = document;
  const money = `${formatAmount(amount, currency)} ${currency.toUpperCase()}`;
  const isOpen = WAITING.includes(document.status) && document.document_status !== "approved";
  return (
    <>
      <BackLink name="Documents" path="/documents" />
      <PageHead title={`Document for ${money} to ${payee?.holder ?? "an erased person"}`}>
        {is_reviewer && isOpen && may("review_documents") && (
          <Choices document={document} onDecide={decide} />
        )}
      </PageHead>
      <div className="detail">
        <section className="card facts" aria-label="File">
          <Group justify="space-between">
            <h2>File</h2>
            <StatusChip status={document.document_status} />
          </Group>
          {document.document_type === null || document.hash === null ? (
            <p className="none">No file was received, so there is nothing to approve.</p>
          ) : (
            <DocumentPreview
              key={document.hash}
              name={document.id}
              type={document.document_type}
              load={() => loadFile(document.id, document.hash!)}
            />
          )}
        </section>
        <Facts document={document} />
      </div>
      {verdict && <DecisionDialog {...{ document, verdict }} onClose={() => decide(null)} />}
    </>
  );
}

const WAITING = ["initiated", "pending_internal_assessment", "ongoing_checks"];

function Choices(props: { document: ReviewedDocument; onDecide: (verdict: Verdict) => void }) {
  const { document, onDecide } = props;
  if (document.is_proposed)
    return <Link href="/approvals?tab=waiting">Its approval is asked for</Link>;
  return (
    <>
      {document.document_type !== null && (
        <Button onClick={() => onDecide("approve")}>Approve</Button>
      )}
      {document.document_status === "not_checked" && (
        <Button variant="default" onClick={() => onDecide("reject")}>
          Reject
        </Button>
      )}
    </>
  );
}

function Facts({ document }: { document: ReviewedDocument }) {
  const { payee, payer, account_name, rejected_at, comment, hash } = document;
  return (
    <section className="card facts" aria-label="What it is to explain">
      <h2>What it is to explain</h2>
      <dl>
        {account_name && <Fact name="Account">{account_name}</Fact>}
        <Fact name="Payee">
          {payee ? `${payee.holder}, ${payee.bank} ··${payee.account}` : "Erased"}
        </Fact>
        <Fact name="Paid by">{payer ?? "Erased"}</Fact>
        <Fact name="Amount">
          <Amount value={document.amount} currency={document.currency} />
        </Fact>
        <Fact name="Reference">{document.reference || "–"}</Fact>
        <Fact name="Rail">{document.rails.toUpperCase()}</Fact>
        <Fact name="State of the payout">
          <StatusChip status={document.status} />
        </Fact>
        {document.document_status === "rejected" && (
          <Fact name="Why it was rejected">{comment ?? "No reason was given"}</Fact>
        )}
        {rejected_at && (
          <Fact name="Rejected">
            <Moment at={rejected_at} />
          </Fact>
        )}
        {hash && (
          <Fact name="SHA-256">
            <Copied text={hash} short={`${hash.slice(0, 12)}…`} label="SHA-256" is_code />
          </Fact>
        )}
        {!account_name && (
          <Fact name="Payout">
            <Link href={`/payouts/${document.id}`}>Open the payout</Link>
          </Fact>
        )}
      </dl>
    </section>
  );
}

/** Approves the file that is shown, and no later one. */
function DecisionDialog(props: {
  document: ReviewedDocument;
  verdict: Verdict;
  onClose: () => void;
}) {
  const { document, verdict, onClose } = props;
  const [text, setText] = useState("");
  // The file that was shown when it was opened: the page loads again when it is replaced.
  const [hash] = useState(document.hash);
  const [, navigate] = useLocation();
  const reason = text.trim();
  const isReasonNeeded = verdict === "reject" || document.document_status === "rejected";
  const send = (idempotency_key: string) =>
    verdict === "approve"
      ? tell<object>(`/documents/${document.id}/approve`, { hash, reason })
      : api.offramps.documents.review(
          document.id,
          { status: "rejected", comment: reason, hash },
          { idempotency_key },
        );
  return (
    <ActDialog
      title={verdict === "approve" ? "Approve this document" : "Reject this document"}
      act={verdict === "approve" ? "Approve the document" : "Reject the document"}
      is_dangerous={verdict === "reject"}
      changes={["documents", "payout", "payouts", "overview"]}
      send={reason || !isReasonNeeded ? send : null}
      onDone={() => navigate("/documents")}
      onClose={onClose}
    >
      <p>
        {verdict === "approve"
          ? "The payout goes on as soon as nothing else holds it."
          : "The payout waits for another document. The payer reads the reason."}
      </p>
      <ReasonInput value={text} onChange={setText} is_optional={!isReasonNeeded} />
    </ActDialog>
  );
}
