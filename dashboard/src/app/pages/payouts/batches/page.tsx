import { useEffect } from "react";
import { Link, useLocation, useParams } from "wouter";
import { Failure, Loading } from "../../../parts/states.tsx";
import { useBatch, useCreatePayouts } from "./batch.ts";
import { CheckBatch } from "./check.tsx";
import { CreatingBatch } from "./creating.tsx";
import { BatchList } from "./list.tsx";
import { UploadBatch } from "./upload.tsx";

/** Payouts from a file: the list of uploads, a new one, and one of them. */
export default function BatchesPage() {
  const { id } = useParams<{ id?: string }>();
  if (!id) return <BatchList />;
  return id === "new" ? <UploadBatch /> : <OneBatch id={id} />;
}

function OneBatch({ id }: { id: string }) {
  const shown = useBatch(id);
  // Here, because the page changes while it runs.
  const create = useCreatePayouts(id);
  const [, navigate] = useLocation();
  const batch = shown.data?.batch;
  const done =
    shown.data && !shown.data.rows && batch?.status === "created" ? batch.quote_id : null;
  useEffect(() => {
    // From here on it is a quote like any other: it is paid for, approved and watched there.
    if (done) navigate(`/quotes/${done}`, { replace: true });
  }, [done, navigate]);
  return (
    <>
      <nav aria-label="Back" className="back">
        <Link href="/payouts/batches">‹ Batches</Link>
      </nav>
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data?.rows && <CheckBatch key={id} draft={shown.data} create={create} />}
      {shown.data && !shown.data.rows && !done && (
        <CreatingBatch started={shown.data} create={create} />
      )}
    </>
  );
}
