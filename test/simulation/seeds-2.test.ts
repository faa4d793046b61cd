import { testSeeds } from './short-seeds.ts'

testSeeds(51, 100)
