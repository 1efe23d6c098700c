/** The Documents screen: a file is dropped, watched while it is translated, mended and fetched. */
import { t } from "../i18n";
import { route } from "../state";
import { Drop } from "./documents_parts/Drop";
import { Job } from "./documents_parts/Job";
import { Mine } from "./documents_parts/Mine";
import "../styles/documents.css";

export function Documents() {
  const id = route.value.rest;
  return id ? (
    <Job key={id} id={id} />
  ) : (
    <div class="screen documents">
      <header class="screen-head">
        <h1>{t("documents.title")}</h1>
        <p>{t("documents.intro")}</p>
      </header>
      <Drop />
      <Mine />
    </div>
  );
}
