import { changelog } from '../../changelog.ts'
import { apiVersions } from '../../versions.ts'

/** The changelog as `GET /changelog` answers. */
export const shownChangelog = {
  latest_version: apiVersions.latest,
  releases: changelog.map(({ date, isVersion, changes }) => ({
    date,
    is_version: isVersion,
    changes: changes.map(({ kind, text, textRu, operations }) => ({
      kind,
      text,
      text_ru: textRu,
      operations: [...operations],
    })),
  })),
}
