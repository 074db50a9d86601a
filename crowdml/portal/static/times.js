// Write times in the reader's time zone; without this script they are in UTC.

import { language } from "../web/page/say.js";

const written = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
for (const time of document.querySelectorAll("time")) {
  time.title = time.textContent ?? "";
  time.textContent = written.format(new Date(time.dateTime));
}
