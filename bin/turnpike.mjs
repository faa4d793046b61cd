#!/usr/bin/env node
import { join } from 'node:path'
import { root, run } from './runtime.mjs'

run([join(root, 'src/app/turnpike.ts'), ...process.argv.slice(2)])
