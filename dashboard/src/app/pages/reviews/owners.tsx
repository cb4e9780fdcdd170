import { Title } from "@mantine/core";
import type { Review } from "./review.ts";

/** Who owns 25 % or more of a business, as it was typed. */
export function Owners({ review: { owners, user, submitted_at } }: { review: Review }) {
  if (user.beneficiary_type !== "business") return null;
  return (
    <section className="review-section" aria-labelledby="review-owners">
      <Title order={2} size="h5" id="review-owners" mb="xs">
        Owners of 25 % or more
      </Title>
      {!owners?.length ? (
        <p className="card calm">{nobody(owners, submitted_at)}</p>
      ) : (
        <table className="records" aria-labelledby="review-owners">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Date of birth</th>
              <th scope="col">Nationality</th>
              <th scope="col" className="right">
                Share
              </th>
            </tr>
          </thead>
          <tbody>
            {owners.map((owner) => (
              <tr key={`${owner.name} ${owner.date_of_birth}`}>
                <td data-label="Name" className="title">
                  <span className="strong breakable">{owner.name}</span>
                </td>
                <td data-label="Date of birth">{owner.date_of_birth}</td>
                <td data-label="Nationality">{owner.nationality}</td>
                <td data-label="Share" className="right">
                  {owner.share} %
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function nobody(owners: Review["owners"], submitted_at: string | null): string {
  if (owners) return "The applicant says that no one owns 25 % or more.";
  return submitted_at === null
    ? "Nothing was submitted yet."
    : "The applicant was not asked, or the data was deleted.";
}
