import { partsOf, type Reading, type Setting, setting } from './reading.ts'

export type CorsConfig = { readonly corsOrigins: readonly string[] }

export const corsSettings = {
  corsOrigins: setting(
    'TURNPIKE_CORS_ORIGINS',
    'ORIGINS',
    '',
    'origins whose pages may call the customer API with a token, like https://app.example, with commas; none',
  ),
} satisfies Record<keyof CorsConfig, Setting>

/** Origins are compared exactly, so each must be written as a browser sends it. */
export function readCorsConfig({ text, bad }: Reading<keyof typeof corsSettings>): CorsConfig {
  const corsOrigins = partsOf(text('corsOrigins'))
  const wrong = corsOrigins.findIndex((each) => !/^https?:[^*]+$/.test(each) || URL.parse(each)?.origin !== each)
  if (wrong >= 0) {
    throw bad(
      'corsOrigins',
      `has no origin in place ${wrong + 1}: give each as a browser sends it, like https://app.example or ` +
        'http://localhost:3000, in lower case, without a path, a default port or *',
    )
  }
  return { corsOrigins }
}
