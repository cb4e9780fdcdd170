export function PayoutDetail({ id }: { id: string }) {
  return <p>{id}</p>;
}
